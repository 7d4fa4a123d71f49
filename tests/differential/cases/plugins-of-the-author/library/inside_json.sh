#!/bin/sh
arguments='<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>'
case $arguments in *'"name": "deep"'*) echo '{"changed": false, "deep": true}';; *) echo '{"failed": true, "msg": "no name"}';; esac
