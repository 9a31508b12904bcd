# susieR (ten single effects, its defaults) on data sets written by `revs_grid.py --export FOLDER`.
#
# Rscript susie_grid.R FOLDER >> results/NAME.csv
#
# Each line has the fields of revs_grid.py: posterior mean for the error, probabilities above .5 for the selection.
suppressPackageStartupMessages(library(susieR))

sizes <- list("n50-p1000" = 5, "n100-p1000" = 10, "n500-p100" = 5)
name <- paste("susieR", packageVersion("susieR"))
for (path in sort(list.files(commandArgs(TRUE)[1], "[.]csv$", full.names = TRUE))) {
  cell <- strsplit(sub("[.]csv$", "", basename(path)), "_")[[1]]
  data <- as.matrix(read.csv(path, header = FALSE))
  y <- data[, 1]
  X <- unname(data[, -1])
  correlation <- as.numeric(cell[2])
  true <- seq_len(ncol(X)) <= sizes[[cell[1]]]
  # the noise variance that gives this signal-to-noise ratio when the true coefficients are one
  s <- seq_len(sum(true))
  noise <- sum(correlation^abs(outer(s, s, "-"))) / as.numeric(cell[3])
  start <- proc.time()
  fit <- susie(X, y, L = 10)
  seconds <- sum((proc.time() - start)[1:2])
  all <- coef(fit)
  off <- all[-1] - true
  # the quadratic form of correlation^|i - j|, a column at a time
  before <- 0
  cross <- 0
  for (value in off) {
    cross <- cross + value * before
    before <- correlation * (before + value)
  }
  error <- 1 + (sum(off^2) + 2 * cross + all[1]^2) / noise
  chosen <- fit$pip > 0.5
  hits <- sum(chosen & true)
  f1 <- 2 * hits / (sum(chosen) + sum(true))
  wrong <- if (any(chosen)) 1 - hits / sum(chosen) else 0
  numbers <- c(error, sum(chosen), f1, wrong, hits / sum(true), seconds)
  cat(paste(c(cell, name, sprintf("%.6g", numbers)), collapse = ","), "\r\n", sep = "")
}
