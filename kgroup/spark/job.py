"""kgroup's commands as a `spark-submit` job, wherever its driver runs.

    python -m kgroup.spark.job FOLDER
    spark-submit --master yarn --deploy-mode cluster --py-files FOLDER/kgroup.zip \\
        FOLDER/kgroup_job.py lag-report --spark hdfs:///kafka-logs --save-as lag

The first writes both files: the package, and this file, which runs a command. Master, settings and everything
else executors need are given to `spark-submit`.
"""

import os
import runpy
import sys
from pathlib import Path
from shutil import copyfile


def main() -> None:
    """Run the command that was submitted; outside of `spark-submit`, write the files to submit."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        here = str(Path(__file__).parent)
        sys.path[:] = [
            entry for entry in sys.path if entry != here
        ]  # there are modules of other packages' names
        runpy.run_module("kgroup", run_name="__main__", alter_sys=True)
        return
    from kgroup.spark.shipping import write_package

    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m kgroup.spark.job FOLDER, which gets kgroup.zip and kgroup_job.py")
    folder = Path(sys.argv[1])
    print(write_package(folder))
    print(copyfile(__file__, folder / "kgroup_job.py"))


if __name__ == "__main__":
    main()
