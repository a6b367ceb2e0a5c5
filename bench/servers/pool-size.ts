/** Of each peer's connection pool: where both were fastest with 32 connections on two cores. */
export const POOL_SIZE = 16;
