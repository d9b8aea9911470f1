/*
 * WP_ARITH: a function that the host and a GPU compute alike. What carries it
 * uses nothing but its arguments and fixed-width types, so that host tests cover
 * the arithmetic of device code.
 */
#ifndef WP_ARITH_H
#define WP_ARITH_H

#ifdef __CUDACC__
#define WP_ARITH static inline __host__ __device__
#else
#define WP_ARITH static inline
#endif

#endif
