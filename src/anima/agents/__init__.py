"""Which learners, fitted in which order; one file an agent."""
