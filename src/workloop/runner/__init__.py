"""One session in one workspace; knows no queue."""
