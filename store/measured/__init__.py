"""What was measured: runs with companion figures, and classes of users."""
