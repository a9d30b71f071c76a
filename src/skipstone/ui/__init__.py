"""What a person looks at: tables, blocks and pictures, from values to text. Nothing here computes or reads a table."""
