// The matrix of node pairs as SVG.
#pragma once

#include "report/html/pair_matrix.h"

#include <string>

namespace distgpu::scaling::html {

// `<figure><svg>...</svg></figure>`, with one element of class "cell" for each cell that has a
// value. The picture has one size whatever the number of rows; the numbers stand in the cells as
// long as they fit, else where the pointer rests. Precondition: matrix.size is not 0.
std::string to_svg(const PairMatrix& matrix);

}  // namespace distgpu::scaling::html
