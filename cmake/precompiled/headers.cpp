// The precompiled headers are what this target is for.
