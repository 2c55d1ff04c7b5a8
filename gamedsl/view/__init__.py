"""Pictures, tables and pages: of games (`view.game`) and of training runs (`view.report`)."""
