"""Networks on a CPU as code of our own: the C++ beside this, compiled once for the processor it runs on."""
