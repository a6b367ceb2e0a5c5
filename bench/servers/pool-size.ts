/** Connection pool size of the compared servers: the default of Postern and of pg. */
export const POOL_SIZE = 10;
