#!/bin/sh
echo "$2" > "$1/made.txt"
