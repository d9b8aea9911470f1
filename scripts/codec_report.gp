# Draws codec_report.png and .svg from the codec_report.tsv in a folder:
#   gnuplot -c scripts/codec_report.gp FOLDER
# Gap 0 has no place on a logarithmic axis and is drawn at 1.

folder = ARG1
if (strlen(folder) == 0) { print "usage: gnuplot -c codec_report.gp FOLDER"; exit status 2 }
data = folder . "/codec_report.tsv"
stats data using 2 nooutput
blocks = STATS_blocks

set title "Error of stored keys and of attention outputs against the distance they are moved\ndrawn data, not the paper's image score" noenhanced
set xlabel "gap over which retrieved keys are re-rotated (latent indices; 1 stands for none)"
set ylabel "relative error (root mean square)"
set logscale xy
set format y "%g"
set xrange [0.8:12000]
set yrange [0.0005:1]
set grid
set key below
name(i) = word(system(sprintf("awk 'NF && $1 != \"#\" {if (!seen[$1]++) print $1}' '%s'", data)), i)
x(gap) = gap < 1 ? 1 : gap

do for [form in "png svg"] {
	if (form eq "png") { set terminal pngcairo size 1100,600 noenhanced } \
	else { set terminal svg size 1100,600 noenhanced }
	set output folder . "/codec_report." . form
	plot for [i=0:blocks-1] data index i using (x($2)):3 with linespoints lw 2 \
			title name(i + 1) . " keys", \
		for [i=0:blocks-1] data index i using (x($2)):6:6:7 with yerrorlines lw 2 dt 2 \
			title name(i + 1) . " attention output, mean to worst head"
	unset output
}
