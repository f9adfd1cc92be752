"""Tables, numbers and pages as bytes."""
