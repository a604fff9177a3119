"""Tables that tests describe in memory, and what is read from the roles of their columns."""

from trellis.new.described import Column, Rows

AGE = Column("age", "INT64", distinct=60)
RADIUS = Column("radius", "FLOAT64", distinct=900)
LABEL = Column("label", "BOOL", distinct=2)


def rows(*columns, count=1000, **more):
    return Rows("data.t", count, columns, **more)


def why(found):
    return dict(found.left_out)
