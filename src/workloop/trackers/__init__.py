"""Other people's backlogs, looked at and kept in step with ours."""
