"""What equipment is: command kinds, profiles as data, loader and lint."""
