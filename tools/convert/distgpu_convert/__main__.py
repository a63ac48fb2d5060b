"""python3 -m distgpu_convert"""

import sys

from distgpu_convert.main import main

sys.exit(main())
