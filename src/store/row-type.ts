import type { Row, Value } from './drivers/driver.ts';

/** A column that a field of an object is read from. */
type Column<T> = { readonly name: string; readonly read: (value: Value) => T };
type WritableColumn<T> = Column<T> & { readonly write: (value: T) => Value };

const asIs = (value: Value): Value => value;
const plain = <T>(name: string): WritableColumn<T> => ({
  name,
  read: asIs as (value: Value) => T,
  write: asIs as (value: T) => Value,
});

export const text = <T extends string = string>(name: string): WritableColumn<T> => plain(name);
export const nullableText = <T extends string = string>(name: string): WritableColumn<T | null> =>
  plain(name);
export const number = (name: string): WritableColumn<number> => plain(name);
export const nullableNumber = (name: string): WritableColumn<number | null> => plain(name);
/** 1 or 0. */
export const boolean = (name: string): WritableColumn<boolean> => ({
  name,
  read: (value) => value === 1,
  write: Number,
});
/** Objects and lists that no statement looks into. */
export const json = <T>(name: string): WritableColumn<T> => ({
  name,
  read: (value) => JSON.parse(value as string) as T,
  write: (value) => JSON.stringify(value),
});

type AnyColumn = Column<unknown>;
type AnyWritableColumn = AnyColumn & { write(value: unknown): Value };
type ObjectWith<C> = { readonly [K in keyof C]: C[K] extends Column<infer T> ? T : never };

type NullableKey<T> = { [K in keyof T]: null extends T[K] ? K : never }[keyof T];
type InputWith<C> = Omit<ObjectWith<C>, NullableKey<ObjectWith<C>>> &
  Partial<Pick<ObjectWith<C>, NullableKey<ObjectWith<C>>>>;

/** The object that a row type reads. */
export type ObjectOf<R> = R extends RowType<infer C> ? ObjectWith<C> : never;
/** The object that a row type writes: fields that may be null may be left out. */
export type InputOf<R> = R extends RowType<infer C> ? InputWith<C> : never;

/**
 * The columns of a kind of row, listed once: field, column and conversion. The lists of SELECT, INSERT and UPDATE
 * statements and the conversion of rows follow from it.
 */
export class RowType<C extends Readonly<Record<string, AnyColumn>>> {
  readonly fields: C;
  /** For a SELECT or INSERT list. */
  readonly columns: string;
  readonly #fieldNames: readonly string[];
  readonly #columnNames: readonly string[];
  readonly #reads: readonly AnyColumn['read'][];

  constructor(fields: C) {
    const columns = Object.values(fields);
    this.fields = fields;
    this.#fieldNames = Object.keys(fields);
    this.#columnNames = columns.map(({ name }) => name);
    this.#reads = columns.map(({ read }) => read);
    this.columns = this.#columnNames.join(', ');
  }

  read(row: Row): ObjectWith<C> {
    const object: Record<string, unknown> = {};
    for (let i = 0; i < this.#fieldNames.length; i++)
      object[this.#fieldNames[i]!] = this.#reads[i]!(row[this.#columnNames[i]!]!);
    return object as ObjectWith<C>;
  }
}

export class WritableRowType<C extends Readonly<Record<string, AnyWritableColumn>>> extends RowType<C> {
  readonly #columns: readonly (readonly [field: string, column: AnyWritableColumn])[];

  constructor(fields: C) {
    super(fields);
    this.#columns = Object.entries(fields);
  }

  /** The values for `columns`, in the same order. */
  write(object: InputWith<C>): Value[] {
    const values: Readonly<Record<string, unknown>> = object;
    return this.#columns.map(([field, { write }]) => write(values[field] ?? null));
  }

  /** Assignments of an UPDATE and their values, for the fields that `changes` has. Parameters start at `$first`. */
  assign(changes: Partial<ObjectWith<C>>, first: number): Assignments {
    const changed = this.#columns.filter(([field]) => changes[field] !== undefined);
    return {
      sql: changed.map(([, { name }], index) => `${name} = $${first + index}`),
      values: changed.map(([field, { write }]) => write(changes[field])),
    };
  }
}

type Assignments = { readonly sql: readonly string[]; readonly values: readonly Value[] };

/** `$1, $2, …` for a VALUES list. */
export const placeholders = (count: number, first = 1): string =>
  Array.from({ length: count }, (_, index) => `$${first + index}`).join(', ');
