import type { Source } from './sources.ts';

export const MAX_FILE_LINES = 350;
export const MAX_FUNCTION_LINES = 60;

export const longFiles = (sources: readonly Source[]): string[] =>
  sources
    .filter(({ lines }) => lines > MAX_FILE_LINES)
    .map(({ path, lines }) => `${path} has ${lines} lines, more than ${MAX_FILE_LINES}`);

/** Functions, methods and closures, from the first line of the signature to the closing brace. */
export const longFunctions = (sources: readonly Source[]): string[] =>
  sources.flatMap(({ path, functions }) =>
    functions
      .filter(({ lines }) => lines > MAX_FUNCTION_LINES)
      .map(
        ({ name, line, lines }) =>
          `${path}:${line} ${name} has ${lines} lines, more than ${MAX_FUNCTION_LINES}`,
      ),
  );
