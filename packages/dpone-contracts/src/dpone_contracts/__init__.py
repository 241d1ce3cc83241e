"""Documents, identity, state machine, outcomes and ports of the semantic refresh runtime."""
