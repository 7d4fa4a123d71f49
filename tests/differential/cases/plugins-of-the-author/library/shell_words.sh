#!/bin/sh
. "$1"
echo "{\"changed\": $touched, \"msg\": \"words $name\"}"
