"""What a run has done, in the words of a paper: its methods, a model card, the TRIPOD+AI checklist,
and its figures and tables as files. `trellis methods` and `trellis export`.

    markdown                            its forms: tables, names, open places
    facts                               a run's files, gathered
    data, modelling, scoring            sentences about them, each used by several of the texts
    methods, card, tripod, citation     the texts
    export                              figures, tables and texts as files

What no file of a run tells stands as [OPEN: ...], for the author to fill in or to leave out.
"""
