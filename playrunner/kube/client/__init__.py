"""The API client: transport, credentials, configuration, errors and discovery."""
