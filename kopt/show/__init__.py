"""What people see: text."""
