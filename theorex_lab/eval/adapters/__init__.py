"""How memories, designs and foreign systems are driven to be compared."""
