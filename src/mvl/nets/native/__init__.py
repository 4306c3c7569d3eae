"""Networks and Adam on a CPU as C++, compiled once for the processor and called through XLA's foreign function interface.

`operation.accelerated` decides for every call whether the C++ or the JAX formula computes it. Results agree to float tolerance,
and derivatives of any order and in any mode are available either way.
"""
