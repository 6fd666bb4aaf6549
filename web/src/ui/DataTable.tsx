import { Paper, Table, UnstyledButton, VisuallyHidden } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconArrowDown, IconArrowsSort, IconArrowUp } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import classes from './DataTable.module.css'
import { MoreRows } from './MoreRows'
import { SearchField } from './SearchField'
import { hasWords, nextSort, parseSort, sortRows } from './sorting'
import { useFirstRows } from './useFirstRows'

export type Column<Row> = {
  id: string
  header: string
  cell: (row: Row) => ReactNode
  /** Makes the column sortable by this value, or by the server if `rows` come in pages: `id` is its name there. */
  sortBy?: 'server' | ((row: Row) => string | number | bigint | null | undefined)
  align?: 'right'
  /** Column of buttons or menus: its header is only for screen readers. */
  isActions?: boolean
}

/** Rows that come from the server page by page; it searches and sorts them. */
export type PagedRows<Row> = {
  rows: readonly Row[]
  /** The number of all rows, if it is known. */
  total?: number
  hasMore: boolean
  isLoading?: boolean
  /** Of the button that loads more. */
  label?: string
  onMore: () => void
}

type Props<Row> = {
  /** Description for screen readers. */
  caption: string
  columns: Column<Row>[]
  rows: readonly Row[] | PagedRows<Row>
  rowKey: (row: Row) => string
  /** `price` or `-price` for descending. Without `onSort` rows keep their order. */
  sort?: string
  onSort?: (sort: string) => void
  /** Below this width the table scrolls horizontally. */
  minWidth?: number
  /** Offers a search for rows by their text, and sorting, if there are many. */
  find?: { label: string; text: (row: Row) => string }
}

type ViewProps<Row> = Omit<Props<Row>, 'rows' | 'find'> & { rows: readonly Row[] }

const NARROW = '(max-width: 40em)'
/** So few rows need no search. */
const FEW = 10

/** Dense table that turns rows into cards on narrow screens. The first column is the row header. */
export function DataTable<Row>(props: Props<Row>) {
  const isNarrow = useMediaQuery(NARROW, undefined, { getInitialValueInEffect: false })
  const [typed, setTyped] = useState('')
  const [ownSort, setOwnSort] = useState('')
  const { columns, rows, find, ...rest } = props
  const all = isPaged(rows) ? rows.rows : rows
  const sorting =
    find && !props.onSort ? { sort: ownSort, onSort: setOwnSort } : { sort: props.sort, onSort: props.onSort }
  const { column, descending } = parseSort(sorting.sort ?? '')
  const found = find && typed ? all.filter((row) => hasWords(find.text(row), typed)) : all
  const sortBy = columns.find(({ id }) => id === column)?.sortBy
  const first = useFirstRows(typeof sortBy === 'function' ? sortRows(found, sortBy, descending) : found)
  const { rows: shown, ...more } = isPaged(rows) ? rows : first
  const View = isNarrow ? Cards : Grid
  return (
    <>
      {find && all.length > FEW ? (
        <search className={classes.search} aria-label={find.label}>
          <SearchField label={find.label} value={typed} onChange={setTyped} />
        </search>
      ) : null}
      <View {...rest} {...sorting} columns={columns} rows={shown} />
      <MoreRows shown={shown.length} {...more} />
    </>
  )
}

const isPaged = <Row,>(rows: readonly Row[] | PagedRows<Row>): rows is PagedRows<Row> => 'onMore' in rows

function Grid<Row>({ caption, columns, rows, rowKey, sort = '', onSort, minWidth = 560 }: ViewProps<Row>) {
  return (
    <Paper className={classes.frame}>
      <Table.ScrollContainer minWidth={minWidth} type="native" tabIndex={0} role="region" aria-label={caption}>
        <Table verticalSpacing={8} horizontalSpacing="md" highlightOnHover>
          <Table.Caption className={classes.caption}>{caption}</Table.Caption>
          <Table.Thead>
            <Table.Tr>
              {columns.map((column) => (
                <Header key={column.id} column={column} sort={sort} onSort={onSort} />
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row) => (
              <Table.Tr key={rowKey(row)}>
                {columns.map((column, index) =>
                  index === 0 ? (
                    <Table.Th key={column.id} scope="row" className={classes.name}>
                      {column.cell(row)}
                    </Table.Th>
                  ) : (
                    <Table.Td
                      key={column.id}
                      data-align={column.align}
                      className={column.isActions ? classes.actions : classes.cell}
                    >
                      {column.cell(row)}
                    </Table.Td>
                  ),
                )}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  )
}

type HeaderProps<Row> = { column: Column<Row>; sort: string; onSort?: (sort: string) => void }

function Header<Row>({ column, sort, onSort }: HeaderProps<Row>) {
  if (column.isActions) {
    return (
      <Table.Th className={classes.actions}>
        <VisuallyHidden>{column.header}</VisuallyHidden>
      </Table.Th>
    )
  }
  const { column: sorted, descending } = parseSort(sort)
  const isSorted = sorted === column.id
  const direction = isSorted ? (descending ? 'descending' : 'ascending') : 'none'
  if (!column.sortBy || !onSort) {
    return (
      <Table.Th className={classes.head} data-align={column.align}>
        {column.header}
      </Table.Th>
    )
  }
  const Icon = isSorted ? (descending ? IconArrowDown : IconArrowUp) : IconArrowsSort
  return (
    <Table.Th className={classes.head} data-align={column.align} aria-sort={direction}>
      <UnstyledButton className={classes.sort} onClick={() => onSort(nextSort(sort, column.id))}>
        {column.header}
        <Icon size={14} aria-hidden opacity={isSorted ? 1 : 0.45} />
      </UnstyledButton>
    </Table.Th>
  )
}

function Cards<Row>({ caption, columns, rows, rowKey }: ViewProps<Row>) {
  const [name, ...rest] = columns
  return (
    <ul className={classes.cards} aria-label={caption}>
      {rows.map((row) => (
        <Paper component="li" key={rowKey(row)} p="sm">
          <div className={classes.cardHead}>
            <div className={classes.cardName}>{name?.cell(row)}</div>
            {rest
              .filter((column) => column.isActions)
              .map((column) => (
                <div key={column.id}>{column.cell(row)}</div>
              ))}
          </div>
          <dl className={classes.facts}>
            {rest
              .filter((column) => !column.isActions)
              .map((column) => (
                <div key={column.id} className={classes.fact}>
                  <dt>{column.header}</dt>
                  <dd>{column.cell(row)}</dd>
                </div>
              ))}
          </dl>
        </Paper>
      ))}
    </ul>
  )
}
