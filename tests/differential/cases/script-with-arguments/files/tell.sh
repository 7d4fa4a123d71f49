#!/bin/sh
echo one
echo two
test "$1" != fail
