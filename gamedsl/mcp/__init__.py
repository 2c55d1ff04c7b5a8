"""The MCP server `gamedsl mcp`: tools for assistants that write, solve and play games."""
