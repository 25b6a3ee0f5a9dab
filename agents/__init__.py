"""What happens to a message, and what people and programs see: agents, commands, APIs."""
