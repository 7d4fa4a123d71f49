#!/bin/sh
echo probed > "$1/probed.txt"
