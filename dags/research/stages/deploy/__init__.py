"""deploy: the promoted training becomes a version of the experiment's model, and is served.

group       the tasks and their order
prepare     the messages: what is registered and deployed        messages   as pure functions
smoke       the test of what is served    asking   its requests   agreement   what it compares
            private   where an endpoint inside a network is asked
hold        time between two steps
diary       what is checked before a step, and written down after it
record      deployment.json, where it is written
look        what is there: champion, shares
"""
