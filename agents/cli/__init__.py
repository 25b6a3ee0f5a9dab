"""The command `factdrift`: what people type. Each command is a thin shell over functions elsewhere."""
