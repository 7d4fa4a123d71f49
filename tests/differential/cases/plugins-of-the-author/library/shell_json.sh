#!/bin/sh
# WANT_JSON
name=$(sed -n 's/.*"name": *"\([^"]*\)".*/\1/p' "$1")
printf 'noise before\n{"changed": true, "msg": "json %s", "list": [1, 2]}\n' "$name"
