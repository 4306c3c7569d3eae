"""Networks and Adam in C++ for a CPU, compiled once for the processor and called through XLA's foreign function interface.

`operation.accelerated` decides for every call whether C++ or JAX computes it. Results agree to float tolerance, and
derivatives of any order, in forward and reverse mode, are available in both cases.
"""
