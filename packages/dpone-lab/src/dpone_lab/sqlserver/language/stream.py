"""A cursor over tokens, the ground that all parsers of the batch stand on."""

from __future__ import annotations

from dpone_lab.sqlserver.language.errors import Number, SqlServerError, keyword_near, syntax_near
from dpone_lab.sqlserver.language.expressions import ObjectName
from dpone_lab.sqlserver.language.lexer import Token, TokenKind, tokenize

RESERVED = frozenset(
    """ADD ALL ALTER AND ANY AS ASC AUTHORIZATION BACKUP BEGIN BETWEEN BREAK BROWSE BULK BY CASCADE CASE CHECK
    CHECKPOINT CLOSE CLUSTERED COALESCE COLLATE COLUMN COMMIT COMPUTE CONSTRAINT CONTAINS CONTAINSTABLE CONTINUE CONVERT
    CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DBCC DEALLOCATE DECLARE
    DEFAULT DELETE DENY DESC DISK DISTINCT DISTRIBUTED DOUBLE DROP DUMP ELSE END ERRLVL ESCAPE EXCEPT EXEC EXECUTE EXISTS
    EXIT EXTERNAL FETCH FILE FILLFACTOR FOR FOREIGN FREETEXT FREETEXTTABLE FROM FULL FUNCTION GOTO GRANT GROUP HAVING
    HOLDLOCK IDENTITY IDENTITYCOL IDENTITY_INSERT IF IN INDEX INNER INSERT INTERSECT INTO IS JOIN KEY KILL LEFT LIKE
    LINENO LOAD MERGE NATIONAL NOCHECK NONCLUSTERED NOT NULL NULLIF OF OFF OFFSETS ON OPEN OPENDATASOURCE OPENQUERY
    OPENROWSET OPENXML OPTION OR ORDER OUTER OVER PERCENT PIVOT PLAN PRIMARY PRINT PROC PROCEDURE PUBLIC
    RAISERROR READ READTEXT RECONFIGURE REFERENCES REPLICATION RESTORE RESTRICT RETURN REVERT REVOKE RIGHT ROLLBACK
    ROWCOUNT ROWGUIDCOL RULE SAVE SCHEMA SECURITYAUDIT SELECT SEMANTICKEYPHRASETABLE SEMANTICSIMILARITYDETAILSTABLE
    SEMANTICSIMILARITYTABLE SESSION_USER SET SETUSER SHUTDOWN SOME STATISTICS SYSTEM_USER TABLE TABLESAMPLE TEXTSIZE
    THEN TO TOP TRAN TRANSACTION TRIGGER TRUNCATE TRY_CONVERT TSEQUAL UNION UNIQUE UNPIVOT UPDATE UPDATETEXT USE USER
    VALUES VARYING VIEW WAITFOR WHEN WHERE WHILE WITH WITHIN WRITETEXT""".split()  # noqa: SIM905 - a table of words
)
"""T-SQL's reserved words: none of them is a name unless quoted."""


class TokenStream:
    """Tokens with a position; parsers derive from it and add their grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.position = 0

    @property
    def current(self) -> Token:
        """The token at the position."""
        return self.tokens[self.position]

    def peek(self, distance: int = 1) -> Token:
        """Return the token at a distance; the END token beyond the last."""
        return self.tokens[min(self.position + distance, len(self.tokens) - 1)]

    def at_end(self) -> bool:
        """Tell whether the text is used up."""
        return self.current.kind is TokenKind.END

    def take(self) -> Token:
        """Consume the current token."""
        token = self.current
        if token.kind is TokenKind.END:
            raise self.unexpected()
        self.position += 1
        return token

    def at(self, *words: str) -> bool:
        """Tell whether the tokens from here are these words or symbols, upper-case."""
        if self.tokens[self.position].upper != words[0]:
            return False
        return len(words) == 1 or all(
            self.peek(distance).upper == word for distance, word in enumerate(words)
        )

    def at_any(self, *words: str) -> bool:
        """Tell whether the current token is one of these words or symbols."""
        return self.current.upper in words

    def accept(self, *words: str) -> bool:
        """Consume these words or symbols if all of them come next."""
        if not self.at(*words):
            return False
        self.position += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Consume these words or symbols, or raise."""
        for word in words:
            if not self.accept(word):
                raise self.unexpected()

    def unexpected(self) -> SqlServerError:
        """Return 156 at a keyword, 102 elsewhere."""
        token = self.current
        if token.kind is TokenKind.END:
            last = self.tokens[self.position - 1] if self.position else token
            return syntax_near(last.text)
        if token.kind is TokenKind.WORD and token.upper in RESERVED:
            return keyword_near(token.text)
        return syntax_near(token.text)

    def at_name(self) -> bool:
        """Tell whether an identifier comes next: quoted, or a word that isn't reserved."""
        token = self.current
        return token.kind is TokenKind.QUOTED_NAME or (
            token.kind is TokenKind.WORD and token.upper not in RESERVED
        )

    def name(self) -> str:
        """Consume an identifier and return its spelling without quotes."""
        if not self.at_name():
            raise self.unexpected()
        value = self.take().value
        if not value:
            raise SqlServerError(Number.NO_COLUMN_NAME, "An object or column name is missing or empty.")
        return value

    def object_name(self) -> ObjectName:
        """Consume a name of one to three parts; ``database..name`` leaves the schema None. Four parts are refused."""
        parts: list[str | None] = [self.name()]
        while self.accept("."):
            if self.at("."):
                parts.append(None)
                continue
            # After a dot even a reserved word is a name only when quoted.
            parts.append(self.name())
        if len(parts) > 3:
            raise SqlServerError(
                117, "The object name contains more than the maximum number of prefixes. The maximum is 2."
            )
        name = parts[-1]
        assert name is not None
        padded = [None] * (3 - len(parts)) + parts
        return ObjectName(name, schema=padded[1], database=padded[0])

    def names_in_parentheses(self) -> tuple[str, ...]:
        """Consume ``(a, b, c)``."""
        self.expect("(")
        names = [self.name()]
        while self.accept(","):
            names.append(self.name())
        self.expect(")")
        return tuple(names)

    def integer(self) -> int:
        """Consume an integer constant."""
        if self.current.kind is not TokenKind.INTEGER:
            raise self.unexpected()
        return int(self.take().value)

    def source(self, start: int, end: int) -> str:
        """Return the text between two token indexes, the end exclusive, without surrounding blanks."""
        if end <= start:
            return ""
        return self.text[self.tokens[start].start : self.tokens[end - 1].end]
