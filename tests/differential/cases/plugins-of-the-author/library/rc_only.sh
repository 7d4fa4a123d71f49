#!/bin/sh
printf '%s\n' '{"rc": 4, "stdout": "a\nb"}'
