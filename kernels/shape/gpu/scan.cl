

this is no program;
