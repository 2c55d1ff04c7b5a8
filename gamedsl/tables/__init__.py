"""Tables: one model (`model`) and its renderers (`text`, `markdown`, `html`). They know no game.

Whoever prints a table builds a `Table` and hands it to a renderer:

    table = Table((*text_columns("player"), *number_columns("games", "won")), rows, title="Results")
    print(rendered(table_lines(table, rule=True)))       # gamedsl.tables.text
    write(markdown(table))                               # gamedsl.tables.markdown
    page += html(table)                                  # gamedsl.tables.html
"""
