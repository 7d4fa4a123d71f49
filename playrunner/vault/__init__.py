"""Values and files encrypted as ansible-vault encrypts them: their format, the passwords, and the
decrypted texts that output has to hide."""
