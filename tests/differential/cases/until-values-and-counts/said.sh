#!/bin/sh
echo said "$@"
