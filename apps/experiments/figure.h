// Figures drawn once with cairo, onto an SVG and a PNG surface.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>

typedef struct _cairo cairo_t;  // NOLINT: as cairo.h declares it

namespace submarine::apps {

// In units of points, y downwards.
class Canvas {
 public:
  explicit Canvas(cairo_t* cairo);

  void Colour(const std::array<double, 3>& rgb);  // 0 to 1
  void Grey(double level);

  void Line(double x0, double y0, double x1, double y1, double width = 1.0);
  void Dashed(bool dashed);  // applies to later lines
  void Dot(double x, double y);
  void Rectangle(double x, double y, double width, double height);  // filled

  // (x, y) is on the base line; align 0: the text begins there, 0.5: is centred, 1: ends there.
  void Text(const std::string& text, double x, double y, double align, double size);
  void TextUpwards(const std::string& text, double x, double y, double size);  // centred

 private:
  cairo_t* cairo_;
};

// Writes `draw` on a white background to DIRECTORY/figure.svg and figure.png. Throws FileError, and
// TooLarge if it cannot be drawn.
void WriteFigure(const std::filesystem::path& directory, double width, double height,
                 const std::function<void(Canvas*)>& draw);

}  // namespace submarine::apps
