"""The lag of groups and what it means. Pure: commits and log ends in, values out.

`measures` has the numbers, `status` the rules that judge them, `findings` what is wrong with a group. May
import `kgroup.history` and what is below. Read `measures/rows.py` first.
"""
