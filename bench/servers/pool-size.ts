/** Of each peer's connection pool: what Postern itself uses unless told otherwise, and pg's own default. */
export const POOL_SIZE = 10;
