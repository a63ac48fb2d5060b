"""python3 -m distgpu_convert"""

from distgpu_convert.main import main

raise SystemExit(main())
